"""How much memory a training step needs, measured in a fresh process."""

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import torch

from lassi.base.streams import Stream
from lassi.flow.glow import Glow, GlowSettings

STATUS = Path("/proc/self/status")


def peak_of_step(flows: int, *, size: int, hidden: int, batch: int, memory: str) -> int:
    """Bytes above parameters and optimiser state at the peak of a training step of a Glow of 4 levels.

    The process returns freed memory at once, so that only live memory counts, not what the allocator keeps for later,
    which varies from run to run.
    """
    arguments = [str(argument) for argument in (flows, size, hidden, batch, memory)]
    program = [sys.executable, "-m", "lassi.bench.memory", *arguments]
    gives_back = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=os.environ | gives_back)
    return int(done.stdout)


def _measure(flows: int, size: int, hidden: int, batch: int, memory: str) -> int:
    torch.set_num_threads(1)
    glow = Glow(GlowSettings(size=size, levels=4, flows=flows, hidden=hidden), stream=Stream(0, "bench"))
    glow.save_memory(memory == "reversible")
    optimiser = torch.optim.Adam(glow.parameters(), 1e-4, fused=True)

    def step(count: int) -> None:
        optimiser.zero_grad(set_to_none=True)
        loss = glow.bits_per_dim(torch.rand(count, 3, size, size) - 0.5).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    step(1)  # creates the optimiser's state
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _kilobytes("VmRSS")
    step(batch)
    return 1024 * (_kilobytes("VmHWM") - before)


def _kilobytes(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


if __name__ == "__main__":
    flows_, size_, hidden_, batch_, memory_ = sys.argv[1:]
    sys.stdout.write(str(_measure(int(flows_), int(size_), int(hidden_), int(batch_), memory_)))
