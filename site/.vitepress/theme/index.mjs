import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import PageActions from './PageActions.vue';
import '../../../packages/inspector/page/styles/colors.css';
import './style.css';
import './front.css';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, undefined, { 'doc-before': () => h(PageActions) }),
};
