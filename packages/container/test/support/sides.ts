import { LAST, type Command, type Definition } from './graphs.js';

interface Asked {
  resolve(key: string): unknown;
}

/** What the container and the reference have in common; `B` is what each takes for a registration. */
interface Scope<B> extends Asked {
  readonly disposed: boolean;
  addRegistration(...registrations: readonly B[]): unknown;
  register(key: string, factory: (scope: Asked) => unknown): unknown;
  createScope(options: { tags: string[] }): this;
  resolveAll(key: string): unknown;
  dispose(): Promise<void> | unknown[];
}

/** Where one side makes its instances, numbered as they are made: equal logs mean equal graphs, made and disposed in the same order. */
export class Workshop {
  readonly log: string[] = [];
  readonly laters: (() => unknown)[] = [];
  private readonly broken = new Set<Definition>();
  private made = 0;

  begin(definition: Definition, needs: readonly unknown[]): string {
    if (definition.breaks && !this.broken.has(definition)) {
      this.broken.add(definition);
      throw Object.assign(new Error('broke'), { code: `${definition.key} broke` });
    }
    const name = `${definition.key}${++this.made}`;
    this.log.push(`made ${name}(${needs.map(draw).join(', ')})`);
    for (const need of needs) if (typeof need === 'function') this.laters.push(need as () => unknown);
    return name;
  }
}

/** How factories ask. Why they are refused depends on who asked for them, of which the reference knows nothing here. */
export function ask(scope: Asked, key: string): unknown {
  return orRefused(() => scope.resolve(key));
}

function orRefused(get: () => unknown): unknown {
  try {
    return get();
  } catch (error) {
    if (!UNAVAILABLE.includes((error as { code?: string }).code ?? '')) throw error;
    throw Object.assign(new Error('refused', { cause: error }), { code: 'not available' });
  }
}

const UNAVAILABLE = ['AMBIT_NOT_REGISTERED', 'AMBIT_OUT_OF_SCOPE', 'AMBIT_CAPTIVE_DEPENDENCY'];

export class Thing {
  readonly name: string;
  dispose?: () => void;
  [Symbol.dispose]?: () => void;

  constructor(
    private readonly workshop: Workshop,
    private readonly definition: Definition,
    ...needs: readonly unknown[]
  ) {
    this.name = workshop.begin(definition, needs);
    if (definition.end !== 'none') this.dispose = () => this.end('dispose');
    if (definition.end === 'Symbol.dispose') this[Symbol.dispose] = () => this.end('Symbol.dispose');
  }

  /** Made outside of the container, which leaves its end to others. */
  get isGiven(): boolean {
    return this.definition.kind === 'value';
  }

  end(how: string): void {
    this.workshop.log.push(`disposed ${this.name} by ${how}`);
    if (this.definition.end === 'fails') throw new Error(`${this.name} failed`);
  }
}

const draw = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(draw).join(', ')}]`;
  if (value instanceof Thing) return value.name;
  return typeof value === 'function' ? 'later' : String(value);
};

/** One of the two, the container or the reference, and all that was done to it. */
export class Side<B, S extends Scope<B>> {
  readonly workshop = new Workshop();
  private readonly failures: Promise<unknown[]>[] = [];
  private readonly scopes: S[];
  private readonly overrides: Disposable[] = [];

  constructor(
    app: S,
    private readonly bind: (definition: Definition, workshop: Workshop) => B,
    private readonly override: (scope: S, ...registrations: readonly B[]) => Disposable,
  ) {
    this.scopes = [app];
  }

  /** Does it, and returns all there is to see: what was made and disposed, what came of it, and which scopes are disposed. */
  perform(command: Command): string {
    const { log } = this.workshop;
    log.length = 0;
    try {
      this.attempt(command);
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === undefined) throw error;
      log.push(`refused: ${code}`);
    }
    return [...log, `disposed: ${this.scopes.map(({ disposed }) => Number(disposed)).join('')}`].join('\n');
  }

  /** What failed to end, for each disposal. */
  async reasons(): Promise<string[]> {
    return (await Promise.all(this.failures)).map((errors) => errors.map(String).join('; '));
  }

  private attempt(command: Command): void {
    const at = this.scopes[command.at % this.scopes.length]!;
    const make = (definition: Definition) => this.bind(definition, this.workshop);
    switch (command.do) {
      case 'add':
        at.addRegistration(...command.definitions.map(make));
        break;
      case 'override':
        this.overrides.push(this.override(at, ...command.definitions.map(make)));
        break;
      case 'undo':
        this.overrides[command.at]?.[Symbol.dispose]();
        break;
      case 'register':
        at.register(command.key, this.factory(command));
        break;
      case 'open':
        this.scopes.push(at.createScope({ tags: command.tags }));
        break;
      case 'resolve':
      case 'resolveAll':
        this.show(at[command.do](command.key));
        break;
      case 'call':
        this.show(orRefused(() => this.workshop.laters.at(-1 - command.at)?.()));
        break;
      case 'dispose':
        // Disposing the application finishes the story, so it is rare.
        if (command.at === 0 || at !== this.scopes[0]) this.dispose(at);
    }
  }

  private show(got: unknown): void {
    this.workshop.log.push(`got ${draw(got)}`);
  }

  private factory({ key, kind }: Extract<Command, { do: 'register' }>): (scope: Asked) => unknown {
    const definition: Definition = {
      key,
      kind: 'value',
      needs: [],
      single: false,
      when: undefined,
      end: 'dispose',
      breaks: false,
    };
    const make = (...needs: unknown[]) => new Thing(this.workshop, definition, ...needs);
    if (kind === 'asking' && !LAST.includes(key)) return (scope) => make(...LAST.map((last) => ask(scope, last)));
    const thing = make();
    return kind === 'same' ? () => thing : () => make();
  }

  private dispose(scope: S): void {
    const disposal = scope.dispose();
    const failed = (error: unknown) => (error as AggregateError).errors;
    this.failures.push(disposal instanceof Promise ? disposal.then(() => [], failed) : Promise.resolve(disposal));
  }
}
