/** The pages, each a function from plain data to safe HTML; an application may put its own in their place. */
import { createdPage } from './created.ts'
import { dashboardPage } from './dashboard.ts'
import { factoryPage } from './factory.ts'
import { failedPage } from './failed.ts'
import { initPage } from './init.ts'
import type { ActorPageValues, CreatedValues, DashboardValues, FactoryValues, FailedValues, Html } from './values.ts'

export interface Pages {
  readonly factory: (values: FactoryValues) => Html
  readonly created: (values: CreatedValues) => Html
  readonly failed: (values: FailedValues) => Html
  readonly dashboard: (values: DashboardValues) => Html
  readonly init: (values: ActorPageValues) => Html
}

export const builtInPages: Pages = {
  factory: factoryPage,
  created: createdPage,
  failed: failedPage,
  dashboard: dashboardPage,
  init: initPage,
}

/** The name of the template that stands for a page, in a folder of the application's own. */
export const templateNames: Readonly<Record<keyof Pages, string>> = {
  factory: 'aw-root-factory.html',
  created: 'aw-root-created.html',
  failed: 'aw-root-failed.html',
  dashboard: 'aw-actor-www-root.html',
  init: 'aw-actor-www-init.html',
}
