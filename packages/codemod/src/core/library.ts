import type { Knowledge, Program } from './model.js';
import type { Rewriter } from './rewriter/rewriter.js';

/** What the codemod knows of one library. */
export interface Library extends Knowledge {
  /**
   * Converts one file of the program.
   * @param rewriter the file; it receives the changes, and lists what is left
   * @param program all files of the program
   */
  convert(rewriter: Rewriter, program: Program): void;
}
