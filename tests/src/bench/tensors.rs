//! Where the tensors of a safetensors file lie, and the orders in which loaders take them. Never reads.

use super::reader::Span;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The length of the header, whose size no block knows: tensors begin and end inside blocks.
const HEADER_BYTES: u64 = 8 + 30_000;
const LAYERS: usize = 32;
/// The tensors of a layer, in the order of their names, which is how the library writes them.
const LAYER: [u64; 9] = [4 * KIB, 7 * MIB, 7 * MIB, 7 * MIB, 4 * KIB, MIB, 4 * MIB, 4 * MIB, MIB];
const EMBEDDING_BYTES: u64 = 30 * MIB;

/// The order in which a loader takes tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As they lie in the file.
    File,
    /// By layer number: the file has layer 10 before layer 2.
    Natural,
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Order::File => "tensors",
            Order::Natural => "keys",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Order::File => "the order of the file",
            Order::Natural => "the natural order of keys",
        }
    }
}

pub(super) fn file_len() -> u64 {
    HEADER_BYTES + EMBEDDING_BYTES + LAYERS as u64 * LAYER.iter().sum::<u64>()
}

/// The header, then every tensor once.
pub(super) fn spans(order: Order) -> Vec<Span> {
    let mut layers: Vec<usize> = (0..LAYERS).collect();
    layers.sort_by_key(usize::to_string);
    let layer_bytes: u64 = LAYER.iter().sum();
    let mut starts: Vec<(usize, u64)> = layers
        .into_iter()
        .enumerate()
        .map(|(place, layer)| (layer, HEADER_BYTES + EMBEDDING_BYTES + place as u64 * layer_bytes))
        .collect();
    if order == Order::Natural {
        starts.sort();
    }
    let span = |offset, len| Span { file: 0, offset, len };
    let mut spans = vec![span(0, HEADER_BYTES), span(HEADER_BYTES, EMBEDDING_BYTES)];
    for (_, start) in starts {
        let mut at = start;
        for len in LAYER {
            spans.push(span(at, len));
            at += len;
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_take_every_byte_once() {
        for order in [Order::File, Order::Natural] {
            let mut spans = spans(order);
            let in_order = spans.is_sorted_by_key(|span| span.offset);
            assert_eq!(in_order, order == Order::File);
            spans.sort_by_key(|span| span.offset);
            assert!(spans.windows(2).all(|pair| pair[0].offset + pair[0].len == pair[1].offset), "{order:?}");
            assert_eq!(spans.last().map(|span| span.offset + span.len), Some(file_len()));
        }
    }
}
