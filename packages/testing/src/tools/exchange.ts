import { RawClient } from './client.js';
import type { RawResponse } from './response.js';

/** @internal A response as it was received, and whether the connection could be used afterwards. */
export interface Exchange extends RawResponse {
  /** The 1xx responses before it. */
  readonly interim: readonly number[];
  /** The status of another request on the same connection, or `closed`. */
  readonly next: number | 'closed';
}

/** @internal Sends the bytes as they are, then one more request, to `probe`, where the connection is still open. */
export async function exchange(port: number, request: string | Buffer, probe: string): Promise<Exchange> {
  const client = await RawClient.connect(port);
  try {
    const toHead = request.toString('latin1', 0, 5).startsWith('HEAD ');
    client.write(request);
    const interim: number[] = [];
    let response = await client.nextResponse({ toHead });
    for (; response !== undefined && response.status < 200; response = await client.nextResponse({ toHead }))
      interim.push(response.status);
    if (!response) throw new Error('The connection was closed without a response');
    if (response.headers['connection'] !== 'close')
      client.write(`GET ${probe} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n`);
    const next = await client.nextResponse();
    return { ...response, interim, next: next?.status ?? 'closed' };
  } finally {
    client.leave();
  }
}

/** @internal Resolves when nobody listens on the port any more: closing has begun for everybody to see. */
export async function refused(port: number): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    RawClient.connect(port).then(
      (client) => {
        client.leave();
        return true;
      },
      () => false,
    );
  while (await isOpen());
}
