import type { Node } from 'oxc-parser';
import type { Project } from '../program/project.js';
import type { SourceFile } from '../program/source-file.js';

export interface Finding {
  readonly node: Node;
  /** The harm, and its origin. */
  readonly problem: string;
}

/** One rule, for every linter and for the command. */
export interface Check {
  readonly name: string;
  readonly description: string;
  /** The fix in one sentence. */
  readonly fix: string;
  find(file: SourceFile, project: Project): Iterable<Finding>;
}
