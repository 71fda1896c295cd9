import { type CallExpression, Node } from 'ts-morph';
import type { Library, Program } from './core/model.js';
import type { Rewriter } from './core/rewriter.js';
import {
  convertHook,
  convertTransactional,
  leaveUnwired,
  Terms,
  transactional,
  wiringOf,
} from './core/transactions.js';
import { nameOf } from './core/classes.js';

const MANAGER =
  "currentScope().resolve('EntityManager') where it is used; typeormOn(connection, dataSource) registered for the transaction";

const ADVICE: Readonly<Record<string, string>> = {
  Transactional: 'transactional(fn), or runInTransaction(scope, work)',
  runInTransaction: 'runInTransaction(scope, work)',
  addTransactionalDataSource:
    'the data source itself; typeormOn(connection, dataSource) is its manager in a transaction',
  getDataSourceByName: 'resolve the data source by its key',
  deleteDataSourceByName: 'dispose the container that has the data source',
  getTransactionalContext: 'transactionOf(currentScope())',
  TransactionalError: 'TransactionError of @ambit/transaction, by its code',
  BaseRepository: MANAGER,
};

const HOOKS = {
  runOnTransactionCommit: 'commit',
  runOnTransactionRollback: 'rollback',
  runOnTransactionComplete: 'complete',
} as const;

const HANDLES = new Set([
  'Repository',
  'TreeRepository',
  'MongoRepository',
  'EntityManager',
  'QueryRunner',
  'DataSource',
  'BaseEntity',
  'AbstractRepository',
]);

/** Whether the name is imported from TypeORM. */
function isHandle(name: Node): boolean {
  return (
    Node.isIdentifier(name) &&
    (name.getSymbol()?.getDeclarations() ?? []).some(
      (one) =>
        Node.isImportSpecifier(one) &&
        HANDLES.has(one.getName()) &&
        one.getImportDeclaration().getModuleSpecifierValue() === 'typeorm',
    )
  );
}

/**
 * What the library patches, and Ambit does not: objects of TypeORM that live longer than a transaction. They would use connections of
 * their own, so that the transaction would not contain what they write.
 */
function listHandles(rewriter: Rewriter): void {
  if (rewriter.file.getImportDeclarations().some((one) => one.getModuleSpecifierValue().startsWith('@ambit/orm')))
    return;
  for (const node of rewriter.file.getDescendants()) {
    if (!Node.isIdentifier(node) || !isHandle(node)) continue;
    const type = node.getFirstAncestor((one) => Node.isTypeReference(one));
    const holder = type?.getParent();
    const isKept =
      Node.isPropertyDeclaration(holder) ||
      (Node.isParameterDeclaration(holder) && Node.isConstructorDeclaration(holder.getParent())) ||
      Node.isExpressionWithTypeArguments(node.getParent());
    if (isKept) rewriter.leave(holder ?? node, `${node.getText()} that outlives a transaction`, MANAGER);
  }
}

/** Whether the file reads repositories of a data source that is a constant of the program. */
function listDataSource(rewriter: Rewriter): void {
  for (const node of rewriter.file.getDescendants()) {
    if (
      !Node.isPropertyAccessExpression(node) ||
      !/^(?:get(?:Tree|Mongo|Custom)?Repository|manager|createQueryBuilder)$/.test(node.getName())
    )
      continue;
    if (isDataSource(rewriter, node.getExpression()))
      rewriter.leave(node, `${node.getName()} of the data source`, MANAGER);
  }
}

function isDataSource(rewriter: Rewriter, node: Node): boolean {
  const symbol = Node.isIdentifier(node) ? node.getSymbol() : undefined;
  return ((symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? []).some((one) => {
    const made = Node.isVariableDeclaration(one) ? one.getInitializer() : undefined;
    if (Node.isCallExpression(made)) return rewriter.names(made.getExpression(), 'addTransactionalDataSource');
    return Node.isNewExpression(made) && isHandle(made.getExpression());
  });
}

function convertCall(rewriter: Rewriter, call: CallExpression): void {
  const called = call.getExpression();
  const name = rewriter.origin(called);
  const [first, options] = call.getArguments();
  switch (name) {
    case 'runOnTransactionCommit':
    case 'runOnTransactionRollback':
    case 'runOnTransactionComplete':
      convertHook(rewriter, call, HOOKS[name]);
      return;
    case 'runInTransaction':
    case 'wrapInTransaction': {
      const terms = new Terms(rewriter);
      const left = terms.read(options);
      if (left || !first) {
        rewriter.leave(call, left?.construct ?? name, left?.advice ?? 'runInTransaction(scope, work)');
        return;
      }
      const made = transactional(rewriter, rewriter.text(first), terms);
      rewriter.replace(call, name === 'runInTransaction' ? `${made}()` : made);
      rewriter.done(name, called);
      if (options) rewriter.consume(options);
      return;
    }
    case 'initializeTransactionalContext': {
      const statement = call.getParent();
      if (!Node.isExpressionStatement(statement)) return;
      rewriter.remove(statement);
      rewriter.done(name, call);
      return;
    }
    case 'addTransactionalDataSource': {
      if (!first || Node.isObjectLiteralExpression(first)) return;
      const statement = call.getParent();
      if (Node.isExpressionStatement(statement) && Node.isIdentifier(first)) rewriter.remove(statement);
      else rewriter.replace(call, rewriter.text(first));
      rewriter.done(name, called);
      return;
    }
    case undefined:
    default:
  }
}

function convertFile(rewriter: Rewriter, program: Program): void {
  const { file } = rewriter;
  const isUsing = file.getDescendants().some((node) => Node.isIdentifier(node) && rewriter.origin(node) !== undefined);
  const wiring = isUsing || /typeorm/.test(file.getFullText()) ? wiringOf(program) : undefined;
  if (!wiring) {
    if (isUsing) leaveUnwired(rewriter);
    return;
  }
  if (!program.files.some((one) => MODULES.some((name) => one.getFullText().includes(name)))) return;
  listHandles(rewriter);
  listDataSource(rewriter);
  for (const node of file.getDescendants().toReversed()) {
    if (Node.isCallExpression(node)) convertCall(rewriter, node);
    else if (Node.isDecorator(node) && rewriter.names(nameOf(node), 'Transactional')) {
      const terms = new Terms(rewriter);
      const left = terms.read(node.getArguments()[0]);
      if (left) rewriter.leave(node, left.construct, left.advice);
      else convertTransactional(rewriter, node, terms, wiring);
    }
  }
}

const MODULES = ['typeorm-transactional', 'typeorm-transactional-cls-hooked'];

/** Converts programs of typeorm-transactional. */
export const typeormTransactional: Library = {
  name: 'typeorm-transactional',
  modules: MODULES,
  companions: {},
  advice: ADVICE,
  page: 'transactional-decorators',
  convert: convertFile,
};
