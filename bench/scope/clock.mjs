/** Milliseconds of CPU time of this process: unlike a clock on the wall, it does not run while neighbours have the processor. */
export function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Megabytes in use once everything that can be freed is freed. */
export async function heap() {
  // What is held by a promise job or a `WeakRef` is freed when the event loop has turned.
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed / 1e6;
}
