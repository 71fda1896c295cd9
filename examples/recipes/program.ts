// What the programs among the recipes share.
import { realpathSync } from 'node:fs';

/** Whether Node was started with the file of this module. */
export const isProgram = (filename: string): boolean => filename === realpathSync(process.argv[1] ?? '.');

/** Stops once, at SIGTERM or Ctrl+C. The process then exits by itself: nothing is left that keeps it running. */
export function onStopSignal(stop: () => Promise<unknown>): void {
  const onSignal = (): void => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.off(signal, onSignal);
    stop().catch((error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    });
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, onSignal);
}
