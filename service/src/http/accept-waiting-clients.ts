import { once } from 'node:events';
import { get } from 'node:http';

/** New clients may arrive without end, and the service has to stop. */
const MAX_MS = 3000;

/** `new URL()` refuses link-local addresses such as `[fe80::1%eth0]`. */
const HOST_AND_PORT = /^http:\/\/\[?([^\]]*?)\]?:(\d+)$/;

/**
 * Accepts the clients in the backlog of the listening socket: closing the server would reset their connections, and lose
 * what they had sent. Node accepts a few connections in each turn of its event loop. So this sends a request of its own: when
 * the response arrives, all clients that came earlier have been accepted and their requests read.
 */
export async function acceptWaitingClients(url: string): Promise<void> {
  const [, host, port] = HOST_AND_PORT.exec(url) ?? [];
  try {
    const request = get({ host, port, path: '/health/live', agent: false, signal: AbortSignal.timeout(MAX_MS) });
    await once(request, 'response');
    request.destroy();
  } catch {
    // Clients that are not accepted by then are reset.
  }
}
