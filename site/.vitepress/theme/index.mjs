import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import PageActions from './PageActions.vue';
import Playground from './Playground.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, undefined, { 'doc-before': () => h(PageActions) }),
  enhanceApp: ({ app }) => void app.component('Playground', Playground),
};
