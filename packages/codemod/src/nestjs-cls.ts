import {
  type CallExpression,
  type ClassDeclaration,
  type ConstructorDeclaration,
  Node,
  type ParameterDeclaration,
  type PropertyAccessExpression,
  Scope,
  type TypeAliasDeclaration,
} from 'ts-morph';
import { nameOf } from './core/classes.js';
import type { Left, Library, Program } from './core/model.js';
import type { Rewriter } from './core/rewriter.js';
import {
  convertTransactional,
  currentScope,
  leaveUnwired,
  ofConnection,
  ofTransaction,
  Terms,
  transactional,
  wiringOf,
} from './core/transactions.js';

const HOST = "currentScope().resolve('Db') where it is used, with the ORM on the connection registered under the key";

const ADVICE: Readonly<Record<string, string>> = {
  Transactional: 'transactional(fn), or runInTransaction(scope, work)',
  TransactionHost: HOST,
  InjectTransaction: HOST,
  InjectTransactionHost: 'the options `pool` and `connection`, and a key for the ORM on that connection',
  ClsPluginTransactional: 'register an IDatabasePool and the ORM on the IConnection of the transaction',
  NoOpTransactionalAdapter: 'FakePool of @ambit/transaction/testing',
  Transaction: 'the type of the ORM',
};

const ADAPTERS = /^(?:kysely|drizzle|knex|typeorm|mikroOrm|prisma)On$/;

/** The key under which the program has registered its ORM on the connection of a transaction; undefined where there is none, or several. */
function keyOf({ files }: Program): string | undefined {
  const keys = new Set<string>();
  for (const file of files) {
    if (!file.getImportDeclarations().some((one) => one.getModuleSpecifierValue().startsWith('@ambit/orm'))) continue;
    for (const call of file.getDescendants()) {
      if (!Node.isCallExpression(call) || !ADAPTERS.test(call.getExpression().getText())) continue;
      const key = registeredAs(call);
      if (key !== undefined) keys.add(key);
    }
  }
  return keys.size === 1 ? Array.from(keys)[0] : undefined;
}

/** The key of `Db: make(..., () => kyselyOn(...))` or `Registration.fromFactory(() => kyselyOn(...)).to('Db')`. */
function registeredAs(node: Node): string | undefined {
  for (const at of node.getAncestors()) {
    if (Node.isPropertyAssignment(at)) return at.getName().replaceAll(/['"]/g, '');
    const called = Node.isCallExpression(at) ? at.getExpression() : undefined;
    if (!Node.isCallExpression(at) || !Node.isPropertyAccessExpression(called) || called.getName() !== 'to') continue;
    const [key] = at.getArguments();
    return Node.isStringLiteral(key) ? key.getLiteralValue() : undefined;
  }
  return undefined;
}

const isOneOf = (rewriter: Rewriter, parameter: ParameterDeclaration): 'host' | 'transaction' | undefined => {
  if (parameter.getDecorators().some((one) => rewriter.names(nameOf(one), 'InjectTransaction'))) return 'transaction';
  const type = parameter.getTypeNode();
  return Node.isTypeReference(type) && rewriter.names(type.getTypeName(), 'TransactionHost') ? 'host' : undefined;
};

/** Converts the uses of an injected host or transaction, and removes its parameter; all of them, or none. */
function convertInjected(rewriter: Rewriter, declaration: ClassDeclaration, key: string | undefined): void {
  const [made] = declaration.getConstructors();
  const removed: ParameterDeclaration[] = [];
  for (const parameter of made?.getParameters() ?? []) {
    const kind = isOneOf(rewriter, parameter);
    if (!kind) continue;
    const uses = usesOf(declaration, parameter);
    const plans = uses?.map((use) => planOf(rewriter, use, kind, key));
    const left = !uses || !plans ? NOT_PRIVATE : plans.find((plan): plan is Left => 'construct' in plan);
    if (left) {
      rewriter.leave(parameter, left.construct, left.advice);
      for (const use of uses ?? []) rewriter.keep(use);
      continue;
    }
    for (const plan of plans ?? []) if ('run' in plan) plan.run();
    removed.push(parameter);
    rewriter.done(kind === 'host' ? 'TransactionHost' : '@InjectTransaction', parameter);
  }
  if (made && removed.length > 0) removeParameters(rewriter, made, removed);
}

const NOT_PRIVATE: Left = {
  construct: 'a TransactionHost that is more than a private field',
  advice: `make it private and use it as this.txHost.tx or this.txHost.withTransaction(...) only; or write ${HOST}`,
};

/** `this.txHost` in the class; undefined where the parameter is used in another way, too. */
function usesOf(
  declaration: ClassDeclaration,
  parameter: ParameterDeclaration,
): PropertyAccessExpression[] | undefined {
  if (parameter.getScope() !== Scope.Private) return undefined;
  const name = parameter.getName();
  const found: PropertyAccessExpression[] = [];
  for (const node of declaration.getDescendants()) {
    if (!Node.isIdentifier(node) || node.getText() !== name || node === parameter.getNameNode()) continue;
    const parent = node.getParent();
    if (!Node.isPropertyAccessExpression(parent) || parent.getNameNode() !== node) return undefined;
    if (Node.isThisExpression(parent.getExpression())) found.push(parent);
  }
  return found;
}

type Plan = Left | { run(): void };

function planOf(
  rewriter: Rewriter,
  use: PropertyAccessExpression,
  kind: 'host' | 'transaction',
  key: string | undefined,
): Plan {
  const member = use.getParent();
  const call = member?.getParent();
  const resolved = () => `${currentScope(rewriter)}.resolve(${rewriter.style.string(key ?? '')})`;
  const isTx = kind === 'transaction' || (Node.isPropertyAccessExpression(member) && member.getName() === 'tx');
  if (isTx)
    return key === undefined
      ? {
          construct: 'the transaction itself',
          advice: `${HOST}, such as Db: make('transaction', (connection) => kyselyOn(connection), ['IConnection'])`,
        }
      : { run: () => rewriter.replace(kind === 'transaction' || !member ? use : member, resolved()) };
  if (!Node.isPropertyAccessExpression(member) || !Node.isCallExpression(call) || call.getExpression() !== member)
    return NOT_PRIVATE;
  return planOfCall(rewriter, call, member.getName());
}

function planOfCall(rewriter: Rewriter, call: CallExpression, method: string): Plan {
  const args = call.getArguments();
  const work = args.at(-1);
  if (method === 'isTransactionActive')
    return {
      run: () =>
        rewriter.replace(
          call,
          `(${ofTransaction(rewriter, 'transactionOf')}(${currentScope(rewriter)}) !== undefined)`,
        ),
    };
  if (!work || !['withTransaction', 'withoutTransaction'].includes(method))
    return { construct: `.${method}`, advice: HOST };
  const terms = termsOf(rewriter, args.slice(0, -1));
  if (!(terms instanceof Terms)) return terms;
  if (method === 'withoutTransaction') terms.set('not-supported');
  return {
    run() {
      rewriter.replace(call, `${transactional(rewriter, rewriter.text(work), terms)}()`);
      for (const one of args.slice(0, -1)) rewriter.consume(one);
    },
  };
}

/** Reads `[connection,] [propagation,] [options]`. */
function termsOf(rewriter: Rewriter, args: readonly Node[]): Terms | Left {
  const terms = new Terms(rewriter);
  for (const one of args) {
    if (rewriter.origin(one)?.startsWith('Propagation.')) terms.propagation(one);
    else {
      const left = Node.isObjectLiteralExpression(one) ? terms.read(one) : ofConnection();
      if (left) return left;
    }
  }
  return terms;
}

function removeParameters(
  rewriter: Rewriter,
  made: ConstructorDeclaration,
  removed: readonly ParameterDeclaration[],
): void {
  const all = made.getParameters();
  const kept = all.filter((one) => !removed.includes(one));
  const last = kept.at(-1);
  if (!last) {
    if (made.getStatements().length === 0) rewriter.remove(made);
    else rewriter.replaceRange(all[0]?.getStart() ?? 0, all.at(-1)?.getEnd() ?? 0, '');
    return;
  }
  for (const one of removed) {
    const next = all[all.indexOf(one) + 1];
    if (last.getEnd() < one.getStart()) rewriter.replaceRange(last.getEnd(), one.getEnd(), '');
    else if (next) rewriter.replaceRange(one.getStart(), next.getStart(), '');
  }
}

/** `new ClsPluginTransactional(...)` in a list of plugins goes: the container has the pool. */
function convertPlugin(rewriter: Rewriter, node: Node): void {
  if (!Node.isNewExpression(node) || !rewriter.names(node.getExpression(), 'ClsPluginTransactional')) return;
  const list = node.getParent();
  if (!Node.isArrayLiteralExpression(list)) return;
  const others = list.getElements().filter((one) => one !== node);
  rewriter.replace(list, `[${others.map((one) => rewriter.text(one)).join(', ')}]`);
  rewriter.done('ClsPluginTransactional', node);
}

/** `type Adapter = TransactionalAdapterKysely<Db>`: without uses it goes; where others use it, it is a type that does no harm. */
function convertAlias(rewriter: Rewriter, node: TypeAliasDeclaration): void {
  const names = node
    .getDescendants()
    .filter((one) => Node.isIdentifier(one) && rewriter.origin(one)?.startsWith('TransactionalAdapter'));
  if (names.length === 0) return;
  if (node.isExported() || !rewriter.isUnused(node.getNameNode())) for (const name of names) rewriter.keep(name);
  else {
    rewriter.remove(node);
    rewriter.done('type of an adapter', node);
  }
}

const MODULE = '@nestjs-cls/transactional';
const MODULES = [
  MODULE,
  ...['typeorm', 'prisma', 'knex', 'kysely', 'drizzle-orm', 'pg-promise', 'mongoose', 'mongodb'].map(
    (name) => `${MODULE}-adapter-${name}`,
  ),
];

/** Converts programs of `@nestjs-cls/transactional`. */
export const nestjsCls: Library = {
  name: '@nestjs-cls/transactional',
  modules: MODULES,
  companions: {},
  advice: ADVICE,
  page: 'transactional-decorators',
  convert(rewriter, program) {
    const nodes = rewriter.file.getDescendants();
    if (!nodes.some((node) => Node.isIdentifier(node) && rewriter.origin(node) !== undefined)) return;
    const wiring = wiringOf(program);
    if (!wiring) {
      leaveUnwired(rewriter);
      return;
    }
    for (const node of nodes.toReversed()) {
      if (Node.isClassDeclaration(node)) convertInjected(rewriter, node, keyOf(program));
      else if (Node.isDecorator(node) && rewriter.names(nameOf(node), 'Transactional')) {
        const terms = termsOf(rewriter, node.getArguments());
        if (terms instanceof Terms) convertTransactional(rewriter, node, terms, wiring);
        else rewriter.leave(node, terms.construct, terms.advice);
      } else if (Node.isTypeAliasDeclaration(node)) convertAlias(rewriter, node);
      else convertPlugin(rewriter, node);
    }
  },
};
