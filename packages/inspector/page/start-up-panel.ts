import { byId, h } from './dom.js';

/** What the application created before its first request. */
export class StartUpPanel {
  constructor() {
    byId('start-up').append(h('div', { class: 'card' }, h('h2', {}, 'Start-up')));
  }

  set shown(_shown: boolean) {}
}
