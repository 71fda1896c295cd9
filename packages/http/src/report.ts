import { reported, type Reporter } from '@ambit/host';
import { startTimer } from './timers.js';

const REPORT_TIMEOUT_MS = 5000;

/** Calls the application's reporter, and waits for one that hangs five seconds at most. Never rejects. */
export async function reportedInTime(reporter: Reporter<undefined>, error: unknown): Promise<void> {
  const reporting = reported(reporter, error, undefined);
  await new Promise<void>((resolve) => {
    const timer = startTimer(resolve, REPORT_TIMEOUT_MS);
    void reporting.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
