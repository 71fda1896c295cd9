import { javascript } from '@codemirror/lang-javascript';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import { EditorView, basicSetup } from 'codemirror';

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: tags.comment, color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className, tags.number], color: 'var(--code-type)' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--code-function)' },
]);

export interface Editor {
  text: string;
}

export function editor(parent: HTMLElement): Editor {
  const view = new EditorView({
    parent,
    extensions: [
      basicSetup,
      javascript({ typescript: true }),
      syntaxHighlighting(colors),
      EditorView.contentAttributes.of({ 'aria-label': 'Program' }),
      EditorView.lineWrapping,
    ],
  });
  view.scrollDOM.tabIndex = 0;
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
  };
}
