import { type CallExpression, type Decorator, type MethodDeclaration, Node, type SourceFile } from 'ts-morph';
import type { Left, Program } from './model.js';
import type { Rewriter } from './rewriter.js';

const CONTAINER = '@ambit/container';
const TRANSACTION = '@ambit/transaction';
const NEST = '@ambit/nest';

/** How the program opens transactions with Ambit: by the module of Nest, or in the current scope. */
export type Wiring = 'nest' | 'scope';

const isFrom = (file: SourceFile, name: string): boolean =>
  file.getImportDeclarations().some((one) => one.getModuleSpecifierValue().startsWith(name));

/** How the program opens transactions with Ambit; undefined where it has no pool of Ambit yet. */
export function wiringOf({ files }: Program): Wiring | undefined {
  if (files.some((file) => isFrom(file, NEST))) return 'nest';
  return files.some((file) => isFrom(file, TRANSACTION)) ? 'scope' : undefined;
}

/** For a program without a pool of Ambit: nothing would open the transaction. */
const UNWIRED: Left = {
  construct: 'no pool of Ambit in the program',
  advice:
    'first register an IDatabasePool in a container beside what is there, and open a scope for each request with `current: true`, or AmbitModule.forRoot() in NestJS: transactional functions begin in the current scope',
};

const ISOLATION = new Set(['read committed', 'repeatable read', 'serializable']);

/** `requires-new` of `REQUIRES_NEW`, `RequiresNew` or `Propagation.RequiresNew`. */
const wordsOf = (node: Node, gap: string): string =>
  (Node.isPropertyAccessExpression(node) ? node.getName() : node.getText().replaceAll(/['"`]/g, ''))
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .replaceAll(/[_\s]+/g, gap)
    .toLowerCase();

/** The terms of a transaction as options of `runInTransaction()`. */
export class Terms {
  private readonly parts = new Map<string, string>([['propagation', 'required']]);

  constructor(private readonly rewriter: Rewriter) {}

  propagation(node: Node): void {
    this.set(wordsOf(node, '-'));
  }

  set(propagation: string): void {
    this.parts.set('propagation', propagation);
  }

  /** Reads the options of a decorator or of a call; returns what Ambit has no equal for. */
  read(options: Node | undefined): Left | undefined {
    if (!options) return undefined;
    if (!Node.isObjectLiteralExpression(options))
      return { construct: 'options that are computed', advice: 'write them as an object where the transaction begins' };
    for (const property of options.getProperties()) {
      const value = Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
      const left = value && Node.isPropertyAssignment(property) ? this.one(property.getName(), value) : COMPUTED;
      if (left) return left;
    }
    return undefined;
  }

  private one(name: string, value: Node): Left | undefined {
    if (name === 'propagation') this.propagation(value);
    else if (name === 'isolationLevel' || name === 'isolation') {
      const level = wordsOf(value, ' ');
      if (!ISOLATION.has(level))
        return {
          construct: `isolation level ${level}`,
          advice: "'read committed', which PostgreSQL runs in its place, or another level",
        };
      this.parts.set('isolation', level);
    } else if (name === 'accessMode' && wordsOf(value, ' ') === 'read only') this.parts.set('readOnly', 'true');
    else if (name === 'timeout') this.parts.set('timeoutMs', value.getText());
    else if (name === 'maxWait') this.parts.set('acquireTimeoutMs', value.getText());
    else if (name !== 'name')
      return OPTIONS[name] ?? { construct: `option ${name}`, advice: 'see the options of runInTransaction()' };
    return undefined;
  }

  get isRequired(): boolean {
    return this.parts.get('propagation') === 'required';
  }

  /** `{ propagation: 'required' }` */
  toString(): string {
    return this.list(this.parts);
  }

  /** The arguments of the decorator of NestJS, whose default is `required`. */
  ofNest(): string {
    const parts = new Map(this.parts);
    if (this.isRequired) parts.delete('propagation');
    return parts.size > 0 ? this.list(parts) : '';
  }

  private list(parts: ReadonlyMap<string, string>): string {
    const isWord = (name: string) => name === 'propagation' || name === 'isolation';
    const list = Array.from(
      parts,
      ([name, value]) => `${name}: ${isWord(name) ? this.rewriter.style.string(value) : value}`,
    );
    return `{ ${list.join(', ')} }`;
  }
}

const COMPUTED: Left = { construct: 'options that are computed', advice: 'write them as properties with their values' };
const OTHER_DATABASE: Left = {
  construct: 'a connection by its name',
  advice: "the options `pool` and `connection`: the keys of the other database's pool and connection",
};
const OPTIONS: Readonly<Record<string, Left>> = { connectionName: OTHER_DATABASE };

/** For a name of a connection in place of options. */
export const ofConnection = (): Left => OTHER_DATABASE;

/** The scope that is current, as an expression. */
export const currentScope = (rewriter: Rewriter): string => `${rewriter.use('currentScope', CONTAINER)}()`;

/** `transactional(work, terms)`: a function that runs in a transaction of the current scope. */
export const transactional = (rewriter: Rewriter, work: string, terms: Terms): string =>
  `${rewriter.use('transactional', `${TRANSACTION}/transactional`)}(${work}, ${terms.toString()})`;

/** An export of `@ambit/transaction`. */
export const ofTransaction = (rewriter: Rewriter, name: string): string => rewriter.use(name, TRANSACTION);

/** A method with `@Transactional()`: its decorator becomes that of Nest, or its body a transactional function. */
export function convertTransactional(rewriter: Rewriter, decorator: Decorator, terms: Terms, wiring: Wiring): void {
  const method = decorator.getParent();
  const left = Node.isMethodDeclaration(method) ? (refusal(method) ?? ofHandler(method, terms, wiring)) : ON_CLASS;
  if (left || !Node.isMethodDeclaration(method)) {
    rewriter.leave(decorator, left?.construct ?? '@Transactional', left?.advice ?? ON_CLASS.advice);
    return;
  }
  if (wiring === 'nest') rewriter.replace(decorator, `@${rewriter.use('Transactional', NEST)}(${terms.ofNest()})`);
  else {
    rewriter.remove(decorator);
    wrapBody(rewriter, method, terms);
  }
  rewriter.done('@Transactional', decorator);
  if (method.getDescendants().some((one) => Node.isCatchClause(one)))
    rewriter.check(
      decorator,
      'catch in a transactional method',
      "where what failed had joined the transaction, COMMIT is refused with AMBIT_TX_FAILED: 'nested' is for what may fail alone",
    );
}

const ON_CLASS: Left = { construct: '@Transactional on a class', advice: 'put it on each method that writes' };

function refusal(method: MethodDeclaration): Left | undefined {
  const body = method.getBody();
  if (!body) return { construct: '@Transactional without a body', advice: 'put it on the method that is called' };
  const isAsync = method.isAsync() || /^Promise\b/.test(method.getReturnTypeNode()?.getText() ?? '');
  if (!isAsync || method.isGenerator())
    return {
      construct: '@Transactional on a method that is not async',
      advice: 'make the method async: it returns a promise already',
    };
  const usesArguments = body.getDescendants().some((one) => Node.isIdentifier(one) && one.getText() === 'arguments');
  return usesArguments
    ? { construct: '`arguments` in a transactional method', advice: 'name the parameters' }
    : undefined;
}

const HANDLER = /^(?:Get|Post|Put|Patch|Delete|All|Head|Options|Search)$/;

/** The transaction of a request begins with it: a handler has no propagation. */
function ofHandler(method: MethodDeclaration, terms: Terms, wiring: Wiring): Left | undefined {
  const isHandler = method.getDecorators().some((one) => HANDLER.test(one.getName()));
  return wiring === 'nest' && isHandler && !terms.isRequired
    ? {
        construct: 'propagation of a handler',
        advice: 'move what has it to a method of a provider; the handler begins its transaction itself',
      }
    : undefined;
}

/** The method stays, with its other decorators: what it did is a transactional function that it calls. */
function wrapBody(rewriter: Rewriter, method: MethodDeclaration, terms: Terms): void {
  const body = method.getBodyOrThrow();
  const indent = rewriter.style.indentAt(body.getEnd() - 1);
  const isLine = !body.getText().includes('\n');
  const [before, after] = isLine ? [' ', ' '] : [`\n${indent}  `, `\n${indent}`];
  const { semicolon } = rewriter.style;
  const [head = '', tail = ''] = transactional(rewriter, 'async () => {\uE002}', terms).split('\uE002');
  rewriter.insert(body.getStart() + 1, `${before}return ${head}`);
  rewriter.insert(body.getEnd() - 1, `${isLine ? '' : '  '}${tail}()${semicolon}${after}`);
}

/** `afterCommit(currentScope(), fn)` and its like in place of a hook. Returns whether the name is one of a hook. */
export function convertHook(rewriter: Rewriter, call: CallExpression, hook: 'commit' | 'rollback' | 'complete'): void {
  const [given] = call.getArguments();
  if (!given) return;
  const fn = rewriter.text(given);
  const isFunction = Node.isArrowFunction(given) || Node.isFunctionExpression(given);
  const takes = isFunction ? given.getParameters().length > 0 : true;
  const scope = currentScope(rewriter);
  const ofScope = () => `${ofTransaction(rewriter, 'transactionOf')}(${scope})`;
  const type = rewriter.style.isTypeScript ? ' as Error' : '';
  if (hook === 'complete' && takes) {
    rewriter.leave(
      call,
      'runOnTransactionComplete with the error',
      "transactionOf(scope)?.afterEnd((outcome) => ...): 'committed', 'rolled back' or 'unknown'",
    );
    return;
  }
  const text = {
    commit: () => `${ofTransaction(rewriter, 'afterCommit')}(${scope}, ${fn})`,
    rollback: () => `${ofScope()}?.afterRollback(${takes ? `(error) => (${fn})(error${type})` : fn})`,
    complete: () => `${ofScope()}?.afterEnd(${fn})`,
  }[hook]();
  rewriter.replace(call, text);
  rewriter.done(`hook on ${hook}`, call.getExpression());
}

/** One finding for a file that waits for the wiring; what it uses of the library stays. */
export function leaveUnwired(rewriter: Rewriter): void {
  const used = rewriter.file
    .getDescendants()
    .filter((node) => Node.isIdentifier(node) && rewriter.origin(node) !== undefined);
  for (const node of used) {
    const parent = node.getParent();
    rewriter.keep(node);
    if (parent && Node.isPropertyAccessExpression(parent)) rewriter.keep(parent);
  }
  const [first] = used;
  if (first)
    rewriter.leave(first.getFirstAncestor(Node.isImportDeclaration) ?? first, UNWIRED.construct, UNWIRED.advice);
}
