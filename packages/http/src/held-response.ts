import type { IncomingMessage } from 'node:http';

/** What decides whether a held response may leave: its transaction. */
export interface GateKeeper {
  /** An error handler is being called. */
  readonly isHandlingError: boolean;
  /** Whether a response of this status may go out at all. One that may not is discarded, and another may follow. */
  readonly admits: (status: number) => boolean;
  readonly onDiscarded: (isWhole: boolean) => void;
  /** Called before `decide`, while `forget()` still makes way for this response. */
  readonly onFirstResponse: () => void;
  /** Resolves when the response may go out, rejects with the error to respond with instead. */
  readonly decide: (status: number) => Promise<void>;
  readonly onRefused: (error: unknown) => void;
  readonly onSecondResponse: () => void;
}

/** How a handler went on while its response was held back. */
export interface HeldCall {
  readonly next: (error?: unknown) => void;
  readonly error: unknown;
}

/** The same on all hosts that hold the response back until COMMIT. */
export interface HeldResponseOptions<Request = IncomingMessage> {
  /** Whether a response of this status rolls back. Default: one of 500 or more does, since it says that the work failed. */
  readonly rollbackOn?: (status: number) => boolean;
  /**
   * Called with a response that was dropped, because another one came first or because it reports success for what was rolled
   * back (with the failure as its cause), and with a failure after the response when COMMIT failed as well. Default: `console.error`.
   */
  readonly onSecondResponse?: (error: unknown, req: Request) => void;
}
