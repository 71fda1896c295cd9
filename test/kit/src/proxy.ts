import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** The treatment of one message of the client: it is let through, or the connection is broken around it. */
type Fault =
  | 'none'
  /** The line breaks before the server sees the message. */
  | 'before'
  /** The server gets the first half of the message, and the line breaks. */
  | 'half'
  /** The server acts on the message, and its reply is lost with the line. */
  | 'after'
  /** The server acts on the message, and nothing ever comes back, but the line stays up. */
  | 'silence'
  /** The server never sees the message, and the line stays up. */
  | 'swallowed';

export interface FaultyProxy {
  readonly port: number;
  /** Decides on each message that a client sends. */
  faultAt: (message: string) => Fault;
  /** From now on nothing gets through on the connections that are open; new ones work. */
  silenceOpen(): void;
  close(): Promise<void>;
}

/** Stands between a pool and PostgreSQL, and breaks the line where a test says so. */
export async function openProxy(target: { host: string; port: number }): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  const silences = new Set<() => void>();
  // A client that hangs up gets no reply from the proxy, only from the server.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(target.port, target.host);
    let mute = false;
    let dead = false;
    silences.add(() => (dead = true));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (dead) return;
      const fault = proxy.faultAt(chunk.toString('latin1'));
      if (fault === 'swallowed') return;
      if (fault === 'before') {
        client.destroy();
        return;
      }
      if (fault === 'half') {
        upstream.end(chunk.subarray(0, chunk.length >> 1), () => client.destroy());
        return;
      }
      if (fault === 'after' || fault === 'silence') mute = true;
      if (fault === 'after') upstream.once('data', () => client.destroy());
      upstream.write(chunk);
    });
    // Without it, the server would keep the session of a client that hung up for as long as the proxy is open.
    client.on('end', () => {
      if (!dead) upstream.end();
    });
    upstream.on('data', (chunk) => {
      if (!mute && !dead) client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: FaultyProxy = {
    port: (server.address() as AddressInfo).port,
    faultAt: () => 'none',
    silenceOpen: () => {
      for (const silence of silences) silence();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
