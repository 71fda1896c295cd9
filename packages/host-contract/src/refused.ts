import { RawClient } from './client.js';

/** Resolves when nobody listens on the port any more: closing has begun for everybody to see. */
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
