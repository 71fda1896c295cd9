import { EventStream } from './event-stream.js';

// A browser opens six connections to a server that speaks HTTP/1.1, so a stream for each tab would leave none for the application.
const tabs = new Set<MessagePort>();
const stream = new EventStream('../events', (message) => {
  for (const port of tabs) port.postMessage(message);
});

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent<unknown>).ports;
  if (!port) return;
  port.addEventListener('message', ({ data }: MessageEvent<'join' | 'leave'>) => {
    if (data === 'join') {
      tabs.add(port);
      if (stream.live) port.postMessage({ kind: 'live' });
      else stream.open();
    } else if (tabs.delete(port) && tabs.size === 0) stream.close();
  });
  port.start();
});
