export { convert, type ChangedFile, type Conversion, type ConvertOptions } from './core/convert.js';
export { LIBRARIES, type Finding, type Library, type LibraryName, type SourceText } from './core/library.js';
export { libraryNamed } from './libraries.js';
