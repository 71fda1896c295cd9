import { Node } from 'ts-morph';
import type { Library } from '../core/library.js';
import { ADVICE } from './advice.js';
import { convertCall } from './calls.js';
import { convertClass } from './classes.js';
import { convertContainer } from './containers.js';
import { convertNewToken } from './tokens.js';
import { convertType } from './types.js';

/** Converts programs of ts-ioc-container. */
export const tsIocContainer: Library = {
  name: 'ts-ioc-container',
  modules: ['ts-ioc-container'],
  companions: {},
  advice: ADVICE,
  containers: {
    values: [],
    creators: ['Container'],
    types: ['Container', 'IContainer'],
    methods: ['createScope', 'add', 'addRegistration', 'use', 'useModule', 'register'],
  },
  convert(rewriter) {
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node);
      else if (Node.isNewExpression(node)) {
        convertContainer(rewriter, node);
        convertNewToken(rewriter, node);
      } else if (Node.isClassDeclaration(node)) convertClass(rewriter, node);
      else if (Node.isTypeReference(node)) convertType(rewriter, node);
    }
  },
};
