import { ExplainedError } from './problem.js';

/** No other user of the machine may read what this process writes: the database and its backups have personal data. */
export function keepFilesPrivate(): void {
  const OTHERS = 0o007;
  process.umask(process.umask(OTHERS) | OTHERS);
}

/** Resolves to the lines to print. */
export type Command = (args: readonly string[], env: NodeJS.ProcessEnv) => Promise<readonly string[]>;

/** Runs the program that this process was started as, and prints the lines that it resolves to. */
export function runCommand(command: Command): void {
  keepFilesPrivate();
  const run = async (): Promise<void> => {
    const lines = await command(process.argv.slice(2), process.env);
    process.stdout.write(`${lines.join('\n')}\n`);
  };
  run().catch(explainFailure);
}

/** Prints an explained error, and sets its exit code. Any other is thrown: its stack tells a developer more. */
export function explainFailure(error: unknown): void {
  if (!(error instanceof ExplainedError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
