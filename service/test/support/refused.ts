import { RawClient } from '@ambit/host-contract';

/** Resolves when nobody listens at the address any more: stopping has begun for everybody to see. */
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
