"""A BERT encoder as an ONNX graph over the weights of a safetensors file, with the weights as external data."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file


def shapes(config: dict) -> list[tuple[str, tuple[int, ...]]]:
    """The tensors of such a model, under the names that transformers gives them."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    tensors = [
        ("embeddings.word_embeddings.weight", (config["vocab_size"], hidden)),
        ("embeddings.position_embeddings.weight", (config["max_position_embeddings"], hidden)),
        ("embeddings.token_type_embeddings.weight", (config["type_vocab_size"], hidden)),
        ("embeddings.LayerNorm.weight", (hidden,)),
        ("embeddings.LayerNorm.bias", (hidden,)),
    ]
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        linear = [("attention.self.query", hidden, hidden), ("attention.self.key", hidden, hidden),
                  ("attention.self.value", hidden, hidden), ("attention.output.dense", hidden, hidden),
                  ("intermediate.dense", inner, hidden), ("output.dense", hidden, inner)]
        for name, rows, columns in linear:
            tensors += [(f"{at}{name}.weight", (rows, columns)), (f"{at}{name}.bias", (rows,))]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            tensors += [(f"{at}{name}.weight", (hidden,)), (f"{at}{name}.bias", (hidden,))]
    return tensors


def export(weights: Path, config: Path, out: Path) -> None:
    graph = Graph(load_file(weights), json.loads(config.read_text()))
    model = helper.make_model(graph.build(), opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    out.parent.mkdir(parents=True)
    onnx.save_model(model, out, save_as_external_data=True, location=out.name + ".data", size_threshold=1024)
    onnx.checker.check_model(str(out))


class Graph:
    """Collects nodes and the weights that they name. Each method adds one step and returns the name of its result."""

    def __init__(self, weights: dict[str, np.ndarray], config: dict) -> None:
        self.weights, self.config = weights, config
        self.nodes, self.initializers = [], {}

    def build(self) -> onnx.GraphProto:
        x = self.node("Add",
                      self.node("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids"),
                      self.node("Gather", self.weight("embeddings.position_embeddings.weight"), "position_ids"))
        first_type = self.node("Gather", self.weight("embeddings.token_type_embeddings.weight"),
                               self.constant("zero", np.array(0)))
        x = self.norm(self.node("Add", x, first_type), "embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, f"encoder.layer.{layer}.")
        self.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
        return helper.make_graph(
            self.nodes, "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
             for name in ("input_ids", "position_ids")],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT,
                                           ["batch", "length", self.config["hidden_size"]])],
            list(self.initializers.values()),
        )

    def layer(self, x: str, at: str) -> str:
        heads = self.config["num_attention_heads"]
        width = self.config["hidden_size"] // heads
        split = self.constant("split", np.array([0, 0, heads, width]))
        query, key, value = (self.node("Reshape", self.linear(x, f"{at}attention.self.{part}"), split)
                             for part in ("query", "key", "value"))
        query = self.node("Transpose", query, perm=[0, 2, 1, 3])
        key = self.node("Transpose", key, perm=[0, 2, 3, 1])
        value = self.node("Transpose", value, perm=[0, 2, 1, 3])
        scale = self.constant("scale", np.array(np.sqrt(width), dtype=np.float32))
        scores = self.node("Div", self.node("MatMul", query, key), scale)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]),
                           self.constant("join", np.array([0, 0, heads * width])))
        attended = self.linear(joined, f"{at}attention.output.dense")
        x = self.norm(self.node("Add", x, attended), f"{at}attention.output.LayerNorm")
        inner = self.node("Gelu", self.linear(x, f"{at}intermediate.dense"))
        return self.norm(self.node("Add", x, self.linear(inner, f"{at}output.dense")), f"{at}output.LayerNorm")

    def linear(self, x: str, name: str) -> str:
        weight = self.node("Transpose", self.weight(f"{name}.weight"), perm=[1, 0])
        return self.node("Add", self.node("MatMul", x, weight), self.weight(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        return self.node("LayerNormalization", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"),
                         axis=-1, epsilon=self.config["layer_norm_eps"])

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def constant(self, name: str, value: np.ndarray) -> str:
        self.initializers.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, *inputs: str, **attributes) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output
