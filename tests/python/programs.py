"""What real Python programs read through a mount, beside what they read from a local copy of the same repo.

    programs.py make FOLDER [MODEL]    writes the repo: MODEL's files (or a small stand-in), ONNX, Parquet, GGUF
    programs.py check MOUNT COPY       runs every check; the first difference ends it with a traceback
"""

import hashlib
import json
import shutil
import sys
import time
from pathlib import Path

import numpy as np

import bert_onnx

SENTENCES = [
    "A balloon carries a folder.",
    "A folder is lifted by a balloon.",
    "The invoice is due on the first of March.",
]


# What sentence-transformers 6.2 computes for the first sentence with the real weights.
REAL_EMBEDDING_START = [-0.00094326, 0.05383158, -0.08242425, 0.03456402]
STAND_IN_LAYERS = 2


def make(folder: Path, model: Path | None) -> None:
    if model:
        shutil.copytree(model, folder, dirs_exist_ok=True)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        make_stand_in(folder)
    bert_onnx.export(folder / "model.safetensors", folder / "config.json", folder / "onnx" / "model.onnx")
    make_parquet(folder / "data")
    make_gguf(folder / "gguf" / "tiny.gguf")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums))


def make_stand_in(folder: Path) -> None:
    """A BERT of the same shape as the real model, two layers deep, with random weights and a vocabulary of words."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    config = {"hidden_size": 384, "num_hidden_layers": STAND_IN_LAYERS, "num_attention_heads": 12, "intermediate_size": 1536,
              "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "vocab_size": 30522, "type_vocab_size": 2}
    (folder / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(7)
    save_file(
        {name: random.standard_normal(shape, dtype=np.float32) * 0.05 for name, shape in bert_onnx.shapes(config)},
        folder / "model.safetensors",
    )
    words = sorted({word for sentence in SENTENCES for word in sentence.replace(".", " .").split()})
    vocabulary = {word: index for index, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))


def make_parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.dataset as ds

    rows = 60_000
    random = np.random.default_rng(11)
    table = pa.table({
        "id": np.arange(rows),
        "language": np.array(["de", "en", "fr"])[np.arange(rows) % 3],
        "score": random.random(rows),
        "text": [f"row {index} {'word ' * (index % 17)}" for index in range(rows)],
        "embedding": list(random.random((rows, 16), dtype=np.float32)),
    })
    ds.write_dataset(table, folder, format="parquet", partitioning=ds.partitioning(
        pa.schema([("language", pa.string())]), flavor="hive"), max_rows_per_group=5_000, max_rows_per_file=10_000)


def make_gguf(path: Path) -> None:
    import gguf

    path.parent.mkdir(parents=True)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(128)
    random = np.random.default_rng(13)
    for layer in range(4):
        for name in ("attn_q", "attn_k", "ffn_up"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", random.random((256, 320), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_safetensors(mount: Path, copy: Path) -> str:
    from safetensors import safe_open

    with safe_open(mount / "model.safetensors", "np") as ours, safe_open(copy / "model.safetensors", "np") as local:
        names = list(local.keys())
        assert list(ours.keys()) == names
        for name in names:
            equal(name, ours.get_tensor(name), local.get_tensor(name))
        # As a sharded loader does: a part of a tensor.
        name = max(names, key=lambda name: np.prod(local.get_slice(name).get_shape()))
        equal(name, ours.get_slice(name)[100:200], local.get_slice(name)[100:200])
    return f"{len(names)} tensors equal"


def check_tokenizers(mount: Path, copy: Path) -> str:
    ours, local = encode(mount), encode(copy)
    assert ours == local and all(ours), (ours, local)
    return f"{sum(map(len, ours))} tokens equal"


def check_onnxruntime(mount: Path, copy: Path) -> str:
    ours, local = embed(mount), embed(copy)
    equal("embedding", ours, local)
    if json.loads((copy / "config.json").read_text())["num_hidden_layers"] == STAND_IN_LAYERS:
        return f"{len(ours)} embeddings of the stand-in equal"
    np.testing.assert_allclose(ours[0][:4], REAL_EMBEDDING_START, atol=2e-5)
    return f"{len(ours)} embeddings of {len(ours[0])} equal"


def encode(folder: Path) -> list[list[int]]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return [encoding.ids for encoding in tokenizer.encode_batch(SENTENCES)]


def embed(folder: Path) -> np.ndarray:
    """Mean-pooled, normalised embeddings, as sentence-transformers computes them for this model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread: the order of float additions, and so the last bit, is the same in both runs.
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "onnx" / "model.onnx", options, providers=["CPUExecutionProvider"])
    rows = []
    for ids in encode(folder):
        inputs = {"input_ids": np.array([ids]), "position_ids": np.arange(len(ids))[None]}
        (hidden,) = session.run(None, inputs)
        mean = hidden[0].mean(axis=0)
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


def check_pyarrow(mount: Path, copy: Path) -> str:
    import pyarrow.dataset as ds

    ours = ds.dataset(mount / "data", partitioning="hive")
    local = ds.dataset(copy / "data", partitioning="hive")
    assert ours.count_rows() == local.count_rows() == 60_000
    some_rows = (ds.field("language") == "fr") & (ds.field("score") < 0.01)
    for arguments in [{}, {"columns": ["id", "score"], "filter": some_rows}]:
        a = ours.to_table(**arguments).sort_by("id")
        b = local.to_table(**arguments).sort_by("id")
        assert a.num_rows and a.equals(b), arguments
    # As a data loader does: memory-mapped, one row group of one column.
    import pyarrow.parquet as pq

    name = sorted(path.relative_to(copy) for path in (copy / "data").rglob("*.parquet"))[0]
    a, b = (pq.ParquetFile(root / name, memory_map=True).read_row_group(1, columns=["embedding"])
            for root in (mount, copy))
    assert a.equals(b)
    return "60000 rows equal"


def check_gguf(mount: Path, copy: Path) -> str:
    import gguf

    ours, local = (gguf.GGUFReader(root / "gguf" / "tiny.gguf") for root in (mount, copy))
    assert list(ours.fields) == list(local.fields)
    assert [tensor.name for tensor in ours.tensors] == [tensor.name for tensor in local.tensors]
    for a, b in zip(ours.tensors, local.tensors, strict=True):
        equal(a.name, a.data, b.data)
    return f"{len(ours.tensors)} tensors listed and equal"


def check_every_byte(mount: Path, copy: Path) -> str:
    ours, local = (sorted(str(path.relative_to(root)) for path in root.rglob("*")) for root in (mount, copy))
    assert ours == local, set(ours) ^ set(local)
    total = 0
    for name in local:
        if (copy / name).is_file():
            data = (mount / name).read_bytes()
            assert data == (copy / name).read_bytes(), name
            assert (mount / name).stat().st_size == len(data), name
            total += len(data)
    return f"{len(local)} names, {total} bytes equal"


def equal(name: str, a: np.ndarray, b: np.ndarray) -> None:
    assert a.dtype == b.dtype and a.shape == b.shape, name
    assert a.tobytes() == b.tobytes(), name


CHECKS = [
    check_safetensors,
    check_tokenizers,
    check_onnxruntime,
    check_pyarrow,
    check_gguf,
    check_every_byte,
]


def main() -> None:
    match sys.argv[1:]:
        case ["make", folder, *model]:
            make(Path(folder), Path(model[0]) if model else None)
        case ["check", mount, copy]:
            for check in CHECKS:
                begin = time.monotonic()
                result = check(Path(mount), Path(copy))
                name = check.__name__.removeprefix("check_")
                print(f"{name:12} {result} ({time.monotonic() - begin:.1f} s)", flush=True)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
