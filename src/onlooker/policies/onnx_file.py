"""Policies as ONNX, for programs that know nothing of this package; and the policies of others, to be watched here.

One input, observations [N, D]; one output, actions [N, A] as the environment takes them, both float32. Normaliser, clip
and squash are inside, in double precision: walking is chaotic, and an action that differs in its last bit ends in
another episode. `single` is for machines that have no doubles.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.envs.world import World
from onlooker.errors import UserError, printable
from onlooker.failures import first_line
from onlooker.options.filling import fill
from onlooker.policies.actor import CLIP, EPS
from onlooker.policies.description import describe
from onlooker.policies.policy import Acts, Policy, limits_of
from onlooker.storage import atomic, parse_json

OPSET, IR = 13, 8  # of 2020 and 2021: what runs on a robot is seldom new
INPUT, OUTPUT = "observation", "action"
MOST_BYTES = 2**28


def save(path: Path, policy: Policy, single: bool = False) -> None:
    """Write the deterministic policy."""
    onnx = _package("onnx")
    helper, from_array = onnx.helper, onnx.numpy_helper.from_array
    kind_of_number = np.float32 if single else np.float64
    constants: dict[str, np.ndarray] = {}
    nodes: list[Any] = []

    def then(kind: str, *inputs: str | np.ndarray, out: str = "", **attributes: Any) -> str:
        """Add a node; arrays among its inputs become constants of the graph."""
        out = out or f"{kind.lower()}_{len(nodes)}"
        names = []
        for number, given in enumerate(inputs):
            if isinstance(given, str):
                names.append(given)
            else:
                names.append(f"{out}.{number}")
                constants[names[-1]] = np.asarray(given, kind_of_number)
        nodes.append(helper.make_node(kind, names, [out], out, **attributes))
        return out

    actor = policy.actor
    low, high = (bound.astype(np.float64) for bound in policy.limits)
    scale = 1 / np.sqrt(actor.stats.var.astype(np.float64) + EPS)
    x = then("Cast", INPUT, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind_of_number)))
    x = then("Mul", then("Sub", x, actor.stats.mean), scale)
    x = then("Clip", x, np.array(-CLIP), np.array(CLIP))
    for number, layer in enumerate(actor.net):
        x = then("Tanh", x) if number else x
        x = then("Gemm", x, layer["w"], layer["b"])
    if policy.options.squash:
        x = then("Add", then("Mul", then("Tanh", x), (high - low) / 2), (high + low) / 2)
    else:
        x = then("Min", then("Max", x, low), high)
    then("Cast", x, out=OUTPUT, to=onnx.TensorProto.FLOAT)

    def value(name: str, size: int) -> Any:
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", size])

    graph = helper.make_graph(
        nodes,
        "policy",
        [value(INPUT, policy.obs_size)],
        [value(OUTPUT, policy.action_size)],
        [from_array(array, name) for name, array in constants.items()],
    )
    about = describe(policy)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="onlooker")
    helper.set_model_props(model, about)
    onnx.checker.check_model(model, full_check=True)
    with atomic(path) as stream:
        stream.write(model.SerializeToString())


class OnnxPolicy(Acts):
    """A policy from an ONNX file. Its actions are clipped to the bounds of the environment it acts in."""

    def __init__(self, session: Any, world: World, meta: dict[str, Any], sizes: tuple[int, int], one: bool) -> None:
        self._session, self.world, self.meta, self._one = session, world, meta, one
        self.obs_size, self.action_size = sizes
        self._input, self._output = session.get_inputs()[0].name, session.get_outputs()[0].name

    @cached_property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        return limits_of(self.world)

    def means(self, obs: np.ndarray) -> np.ndarray:
        """What the network gives."""
        batches = np.split(obs, len(obs)) if self._one else [obs]
        try:
            found = [self._session.run([self._output], {self._input: batch})[0] for batch in batches]
            action = np.concatenate(found).reshape(len(obs), self.action_size)
        except Exception as failure:  # the network is somebody else's
            raise UserError(f"the ONNX policy fails on its input: {first_line(failure)}") from failure
        return np.clip(action, *self._limits, dtype=np.float32)


def load(path: Path, world: World | None = None) -> OnnxPolicy:
    """A policy of one input and one output, for this world or the one that it names itself. No code of it is run but
    its network; it may not reach for other files."""
    onnx, runtime = _package("onnx"), _package("onnxruntime")
    if path.stat().st_size > MOST_BYTES:
        raise UserError(f"{path} is too large: {path.stat().st_size:,} bytes, and {MOST_BYTES:,} are allowed")
    data = path.read_bytes()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        model = onnx.load_model_from_string(data)
        if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in _tensors(model.graph)):
            raise UserError(f"{path} keeps its numbers in other files; save it as one file")
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except UserError:
        raise
    except Exception as failure:
        raise UserError(f"{path} is no ONNX file that can be run: {first_line(failure)}") from failure
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1 or len(outputs) != 1:
        raise UserError(
            f"{path} has {len(inputs)} inputs and {len(outputs)} outputs; a policy has one of each, observations "
            "[N, D] and actions [N, A]"
        )
    for what, found in ((INPUT, inputs[0]), (OUTPUT, outputs[0])):
        if found.type != "tensor(float)" or len(found.shape) != 2 or not isinstance(found.shape[1], int):
            shape = printable(f"{found.type} {found.shape}")
            raise UserError(f"the {what}s of {path} are {shape}; a policy's are tensor(float) [N, how many]")
    about = {entry.key: entry.value for entry in model.metadata_props}
    own = world or _own_world(about)
    if own is None:
        raise UserError(f"{path} does not say which robot it is for; say it with --env, for example Hopper-v5")
    meta = {"method": "onnx", "file": path.name}
    sizes = inputs[0].shape[1], outputs[0].shape[1]
    return OnnxPolicy(session, own, meta, sizes, one=inputs[0].shape[0] == 1)


def _own_world(about: dict[str, str]) -> World | None:
    """The world that a policy of ours names."""
    if about.get("producer") != "onlooker" or "world" not in about:
        return None
    try:
        found = parse_json(about["world"])
    except ValueError:
        return None
    return fill(World, found, "world") if isinstance(found, dict) else None


def _tensors(graph: Any) -> list[Any]:
    """All numbers that a graph holds, those of graphs inside it too."""
    found = [*graph.initializer]
    for node in graph.node:
        for attribute in node.attribute:
            found += [attribute.t, *attribute.tensors]
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                found += _tensors(inner)
    return found


def _package(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise UserError(f"this needs the package {name}: pip install 'onlooker[export]'") from None
