// The service, started as always, which also counts the calls of its functions for the process that forked it.
import { Session } from 'node:inspector/promises';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

// Taking the counts also resets them, so each message holds what ran since the one before.
process.on('message', () => void sendCalledFiles());

await import('../../service/dist/main.js');

async function sendCalledFiles() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = result.map(({ url, functions }) => {
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    return { url, functions: called.map(({ functionName }) => functionName || '(anonymous)') };
  });
  process.send?.(files.filter(({ functions }) => functions.length > 0));
}
