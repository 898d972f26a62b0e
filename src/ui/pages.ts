/** The pages, each a function from plain data to safe HTML; an application may put its own in their place. */
import { createdPage } from './created.ts'
import { factoryPage } from './factory.ts'
import type { CreatedValues, FactoryValues, Html } from './values.ts'

export interface Pages {
  readonly factory: (values: FactoryValues) => Html
  readonly created: (values: CreatedValues) => Html
}

export const builtInPages: Pages = { factory: factoryPage, created: createdPage }
