import { useEffect, useState } from 'preact/hooks';

const EVERY_MS = 1000;

export interface Polled<T> {
  readonly value?: T;
  /** The server has not responded the last time. */
  readonly failed?: boolean;
}

/** Reads something each second, as long as the component is shown, and nobody looks at another tab. */
export function usePolled<T>(read: () => Promise<T>): Polled<T> {
  const [state, setState] = useState<Polled<T>>({});
  useEffect(() => {
    let isOver = false;
    const poll = async (): Promise<void> => {
      for (;;) {
        const failed = (): void => setState((before) => ({ ...before, failed: true }));
        if (!document.hidden) await read().then((value) => setState({ value }), failed);
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
        if (isOver) return;
      }
    };
    void poll();
    return () => void (isOver = true);
  }, [read]);
  return state;
}
