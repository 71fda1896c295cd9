import { Node } from 'ts-morph';
import type { Library } from '../core/library.js';
import { ADVICE } from './advice.js';
import { convertCall } from './calls.js';
import { convertClass } from './classes.js';
import { convertName } from './names.js';

/** Converts programs of tsyringe. */
export const tsyringe: Library = {
  name: 'tsyringe',
  modules: ['tsyringe'],
  companions: {},
  advice: ADVICE,
  containers: {
    values: ['container'],
    creators: [],
    types: ['DependencyContainer'],
    methods: ['createChildContainer', 'register', 'registerSingleton', 'registerInstance', 'registerType'],
  },
  convert(rewriter, program) {
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node);
      else if (Node.isClassDeclaration(node)) convertClass(rewriter, node, program);
      else if (Node.isIdentifier(node)) convertName(rewriter, node, program);
    }
  },
};
