import { once } from 'node:events';
import { get } from 'node:http';

/** Newcomers may fill the queue without cease; who is told to stop has to. */
const MOST_MS = 3000;

/** `new URL()` would refuse an address that is one on its link only, such as `[fe80::1%eth0]`. */
const PLACE = /^http:\/\/\[?([^\]]*?)\]?:(\d+)$/;

/**
 * Lets those in who already wait at the door: closing the server would reset their connections, with all they had sent.
 * Node takes a few connections from the system's queue in each turn of its loop. So we stand in the queue as well: when
 * we are answered, those before us have been let in and heard.
 */
export async function letWaitingClientsIn(url: string): Promise<void> {
  const [, host, port] = PLACE.exec(url) ?? [];
  try {
    const request = get({ host, port, path: '/health/live', agent: false, signal: AbortSignal.timeout(MOST_MS) });
    await once(request, 'response');
    request.destroy();
  } catch {
    // Who cannot get in by then will not.
  }
}
