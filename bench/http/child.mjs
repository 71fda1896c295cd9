/** One server in a process of its own: `child.mjs <contestant>`. Each message asks for the CPU time it has used. */
const { contestant } = await import(`./contestants/${process.argv[2]}.mjs`);
const { port } = new URL(await contestant.start());

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send(user + system);
});
process.send(Number(port));
