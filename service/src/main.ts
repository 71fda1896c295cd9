import { explainFailure, keepFilesPrivate } from './commands.js';
import { type Config, readConfig } from './config/config.js';
import { createLogger, LogOutput } from './logging/logger.js';
import { ExplainedError } from './problem.js';
import { startService } from './service.js';

/** How long disposal may take, in addition to the time for requests in progress. */
const DISPOSE_MS = 5000;
/** A terminal sends Ctrl+C to npm, too, which passes it on: a second signal within this time is the same press of the keys. */
const SAME_PRESS_MS = 500;

keepFilesPrivate();
try {
  run(readConfig(process.env));
} catch (error) {
  explainFailure(error);
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
  let isReady = false;
  const service = startService(config, { output, onReady: () => (isReady = true) });
  service.catch((err: unknown) => {
    const reason = explainedErrorIn(err);
    if (reason) exitWith(`The service could not start. ${reason.message}`, undefined, reason.exitCode);
    else exitWith('The service could not start', err);
  });

  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    const at = performance.now();
    const isSamePress = signal === 'SIGINT' && first?.signal === signal && at - first.at < SAME_PRESS_MS;
    if (first) return isSamePress ? undefined : exitWith('Received a second signal: exiting at once');
    first = { signal, at };
    logger.info({ msg: 'stopping', signal });
    // No client waits for a response, and the database rolls back what was not committed.
    if (!isReady) return exitStopped();
    setTimeout(() => exitWith('The service did not shut down in time'), config.shutdownTimeoutMs + DISPOSE_MS);
    try {
      await (await service).stop();
      exitStopped();
    } catch (err) {
      exitWith('The service failed to shut down', err);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

/** The container wraps the error with the path of keys that led to it; the operator needs the error itself. */
function explainedErrorIn(error: unknown): ExplainedError | undefined {
  if (error instanceof ExplainedError) return error;
  return error instanceof Error ? explainedErrorIn(error.cause) : undefined;
}
