/** The types of the look of an application. */
import type { Asset } from './asset.ts'

/** Part of `ConsoleOptions`. */
export interface LookOptions {
  /**
   * The color of primary actions and of the current section: `#rrggbb`, or one color for light pages and one for dark pages. Its
   * contrast with the page must be at least 4.5. A single color is for light pages, and a lighter one is derived for dark pages.
   */
  readonly accent?: string | { readonly light: string; readonly dark: string }
  /** The logo: the text of an SVG file, at best square. It is the icon of the pages too. */
  readonly logo?: string
}

/** The files of an application that every page loads. */
export interface Look {
  readonly logo: Asset
  /** The sheet with the accent color. Null: that of the service. */
  readonly accent: Asset | null
}
