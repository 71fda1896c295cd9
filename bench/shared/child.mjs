/**
 * One server in a process of its own: `child.mjs <file>`, which exports `contestant`. Each message asks for the CPU time
 * it has used.
 */
const { contestant } = await import(process.argv[2]);
const { port } = new URL(await contestant.start());

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send(user + system);
});
process.on('disconnect', () => process.exit());
process.send(Number(port));
