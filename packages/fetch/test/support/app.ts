import { Container, hasTag, onDispose, Registration, scope, singleton } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';

/** An application container whose request scopes hold an `IResource`, and what was disposed so far. */
export class App {
  readonly disposed: string[] = [];
  readonly container = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => ({ name: 'resource' }))
      .pipe(
        singleton(),
        scope(hasTag('request')),
        onDispose(() => void this.disposed.push('resource')),
      )
      .to('IResource'),
  );

  get open(): number {
    return openScopes(this.container).length;
  }
}

/** Resolves when so much has happened that nothing asynchronous is left but timers. */
export function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** A body that gives its chunks one by one, each when `next()` is called; `fail()` breaks it. */
export class SlowBody {
  isCancelled = false;
  cancelledFor: unknown = undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined = undefined;
  readonly stream = new ReadableStream<Uint8Array>({
    start: (controller) => void (this.#controller = controller),
    cancel: (reason) => {
      this.isCancelled = true;
      this.cancelledFor = reason;
    },
  });

  next(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.#controller?.close();
  }

  fail(error: Error): void {
    this.#controller?.error(error);
  }
}

export function get(init: RequestInit = {}): Request {
  return new Request('http://localhost/', init);
}
