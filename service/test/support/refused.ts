import { RawClient } from '@ambit/host-contract';

/** Resolves when the service no longer listens: its shutdown has begun. */
export async function refused(url: string): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    RawClient.connect(Number(new URL(url).port)).then(
      (client) => {
        client.leave();
        return true;
      },
      () => false,
    );
  while (await isOpen());
}
