import { EventStream } from './event-stream.js';
import type { StreamMessage } from './stream-message.js';

/** Calls `take` with the messages of the one stream that all tabs share. */
export function joinStream(take: (message: StreamMessage) => void): void {
  if (typeof SharedWorker === 'undefined') return streamWhileVisible(take);
  const worker = new SharedWorker('assets/stream.js', 'ambit-inspector');
  worker.addEventListener('error', () => streamWhileVisible(take), { once: true });
  const { port } = worker;
  port.addEventListener('message', ({ data }: MessageEvent<StreamMessage>) => take(data));
  port.start();
  const join = (): void => port.postMessage('join');
  const leave = (): void => port.postMessage('leave');
  join();
  // A tab that is closed, or kept for the back button, or frozen reads nothing; what is sent to it would pile up.
  addEventListener('pagehide', leave);
  addEventListener('pageshow', ({ persisted }) => persisted && join());
  document.addEventListener('freeze', leave);
  document.addEventListener('resume', join);
}

/** Without a SharedWorker only a visible tab has a stream: of many tabs, few are visible. */
function streamWhileVisible(take: (message: StreamMessage) => void): void {
  const stream = new EventStream('events', take);
  const update = (): void => (document.hidden ? stream.close() : stream.open());
  document.addEventListener('visibilitychange', update);
  update();
}
