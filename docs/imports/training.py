#!/usr/bin/env python3
"""Writes the messages of one training step of a language model as a flow list for the workload `replay`.

    docs/imports/training.py >step.csv                                     13 billion parameters on 128 GPUs
    docs/imports/training.py --parameters 1e8 --micro-batches 2 >small.csv

Tensor parallelism stays inside a server and is not in the list. Pipeline: each stage sends the activations of each micro-batch to the next stage, and
gradients back. Data: the GPUs with the same part of the model sum their gradients by a ring, 2 (N - 1) messages each. Computation is a pause. GPU `t` of
server `s` is host `t + s * tensor` of the network; servers are numbered by replica, then by stage.
"""

import argparse
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=float, default=13e9, help="of the model (%(default)g)")
    parser.add_argument("--hidden", type=int, default=5120, help="width of a layer (%(default)s)")
    parser.add_argument("--sequence", type=int, default=2048, help="tokens of a micro-batch (%(default)s)")
    parser.add_argument("--tensor", type=int, default=8, help="GPUs of a server (%(default)s)")
    parser.add_argument("--pipeline", type=int, default=4, help="stages (%(default)s)")
    parser.add_argument("--data", type=int, default=4, help="replicas of the model (%(default)s)")
    parser.add_argument("--micro-batches", type=int, default=8, help="of a step (%(default)s)")
    parser.add_argument("--flops", type=float, default=150e12, help="operations of a GPU in a second (%(default)g)")
    a = parser.parse_args()
    if min(a.tensor, a.pipeline, a.data, a.micro_batches) < 1 or a.data * a.pipeline < 2:
        parser.error("a step needs at least one GPU of each kind, and two servers")

    # Two bytes for each number. Two operations for each parameter and token forward, twice as many backward.
    activations = a.sequence * a.hidden * 2 // a.tensor
    part = max(1, int(2 * a.parameters / (a.tensor * a.pipeline) / a.data))
    forward_us = 2 * a.parameters / (a.tensor * a.pipeline) * a.sequence / a.flops * 1e6
    backward_us = 2 * forward_us

    def host(replica: int, stage: int, gpu: int) -> int:
        return (replica * a.pipeline + stage) * a.tensor + gpu

    out = [("id", "src", "dst", "bytes", "start_us", "after")]
    for replica in range(a.data):
        for gpu in range(a.tensor):
            for batch in range(a.micro_batches):
                for stage in range(a.pipeline - 1):
                    # A stage computes one micro-batch after the other; the first stage has its input.
                    name = f"{replica}.{gpu}.{batch}"
                    after = f"f{stage - 1}.{name}@{forward_us:.3f}us" if stage else f"@{(batch + 1) * forward_us:.3f}us"
                    ends = host(replica, stage, gpu), host(replica, stage + 1, gpu)
                    out.append((f"f{stage}.{name}", *ends, activations, 0, after))
                for stage in range(a.pipeline - 1, 0, -1):
                    name = f"{replica}.{gpu}.{batch}"
                    # The last stage has the forward pass of all micro-batches first, as in GPipe.
                    last = f"{replica}.{gpu}.{a.micro_batches - 1}"
                    pause = forward_us + (batch + 1) * backward_us
                    after = (
                        f"f{stage - 1}.{last}@{pause:.3f}us"
                        if stage == a.pipeline - 1
                        else f"b{stage + 1}.{name}@{backward_us:.3f}us"
                    )
                    ends = host(replica, stage, gpu), host(replica, stage - 1, gpu)
                    out.append((f"b{stage}.{name}", *ends, activations, 0, after))
    last = a.micro_batches - 1
    for step in range(2 * (a.data - 1)):
        for stage in range(a.pipeline):
            for gpu in range(a.tensor):
                for replica in range(a.data):
                    name = f"r{step}.{stage}.{gpu}"
                    before = (replica - 1) % a.data
                    if step:
                        after = f"r{step - 1}.{stage}.{gpu}.{before}"
                    elif stage == a.pipeline - 1:
                        # Its own last gradient has been sent.
                        after = f"b{stage}.{replica}.{gpu}.{last}" if stage else f"@{(last + 1) * 3 * forward_us:.3f}us"
                    else:
                        after = f"b{stage + 1}.{replica}.{gpu}.{last}@{backward_us:.3f}us"
                    ends = host(replica, stage, gpu), host((replica + 1) % a.data, stage, gpu)
                    out.append((f"{name}.{replica}", *ends, part, 0, after))
    sys.stdout.writelines(",".join(map(str, row)) + "\n" for row in out)


if __name__ == "__main__":
    main()
