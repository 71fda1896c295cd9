import type { Config } from './config/config.js';
import { ConfigError, readConfig } from './config/read-config.js';
import { DatabaseUnusableError } from './database/unusable.js';
import { ListenError } from './http/listen-error.js';
import { LogOutput } from './logging/log-output.js';
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
  const output = new LogOutput();
  const logger = createLogger(config.logLevel, output);
  const exitWith = (msg: string, err?: unknown, exitCode = 1): void => {
    logger.error({ msg, err });
    process.exit(exitCode);
  };
  const exitStopped = (): void => {
    logger.info({ msg: 'stopped' });
    process.exit(0);
  };
  let letsClientsIn = false;
  const service = startService(config, { output, onReady: () => (letsClientsIn = true) });
  service.catch((err: unknown) => {
    const reason = explainedFaultIn(err);
    if (reason) exitWith(`The service could not start. ${reason.message}`, undefined, reason.exitCode);
    else exitWith('The service could not start', err);
  });

  let stopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) return exitWith('Told to stop a second time: leaving at once');
    stopping = true;
    logger.info({ msg: 'stopping', signal });
    // Nobody waits for an answer, and the database takes back what was not committed.
    if (!letsClientsIn) return exitStopped();
    setTimeout(() => exitWith('The service did not stop in time'), config.shutdownTimeoutMs + DISPOSE_MS);
    try {
      await (await service).stop();
      exitStopped();
    } catch (err) {
      exitWith('The service did not stop well', err);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

/** The container says on which way it came to the fault; who starts the service wants to know the fault. */
function explainedFaultIn(error: unknown): DatabaseUnusableError | ListenError | undefined {
  if (error instanceof DatabaseUnusableError || error instanceof ListenError) return error;
  return error instanceof Error ? explainedFaultIn(error.cause) : undefined;
}
