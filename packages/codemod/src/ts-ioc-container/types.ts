import { Node, type TypeReferenceNode } from 'ts-morph';
import type { Rewriter } from '../core/rewriter/rewriter.js';

const TYPES: Readonly<Record<string, string>> = {
  IContainer: 'Container',
  Container: 'Container',
  DependencyKey: 'Key',
  constructor: 'Class',
};

/** Converts a type of ts-ioc-container. */
export function convertType(rewriter: Rewriter, node: TypeReferenceNode): void {
  const name = node.getTypeName();
  const to = TYPES[rewriter.origin(name) ?? ''];
  if (to === undefined) return;
  const isInFactory = node.getFirstAncestor(
    (one) => Node.isCallExpression(one) && /\.(?:fromFn|pipe)$/.test(one.getExpression().getText()),
  );
  rewriter.replace(name, rewriter.useType(to === 'Container' && isInFactory ? 'IContainer' : to));
  rewriter.done('type', name);
}
