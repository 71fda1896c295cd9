import type { Config } from './config/config.js';
import { ConfigError, readConfig } from './config/read-config.js';
import { createLogger } from './logging/logger.js';
import { startService } from './service.js';

/** What disposing may take beyond the time for answering. */
const DISPOSE_MS = 5000;

try {
  run(readConfig(process.env));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}

function run(config: Config): void {
  const logger = createLogger(config.logLevel);
  const exitWith = (msg: string, err?: unknown): void => {
    logger.error({ msg, err });
    process.exit(1);
  };
  let letsClientsIn = false;
  const service = startService(config, { onReady: () => (letsClientsIn = true) });
  service.catch((err: unknown) => exitWith('The service could not start', err));

  let stopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) return exitWith('Told to stop a second time: leaving at once');
    stopping = true;
    logger.info({ msg: 'stopping', signal });
    // Nobody waits for an answer, and the database takes back what was not committed.
    if (!letsClientsIn) process.exit(0);
    setTimeout(() => exitWith('The service did not stop in time'), config.shutdownTimeoutMs + DISPOSE_MS);
    try {
      await (await service).stop();
      process.exit(0);
    } catch (err) {
      exitWith('The service did not stop well', err);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}
