/** The pages, each a function from plain data to safe HTML; an application may put its own in their place. */
import { createdPage } from './created.ts'
import { dashboardPage } from './dashboard.ts'
import { factoryPage } from './factory.ts'
import { failedPage } from './failed.ts'
import { initPage } from './init.ts'
import { propertiesPage } from './properties.ts'
import { propertyPage } from './property.ts'
import { signOutPage } from './sign-out.ts'
import type { PropertiesValues, PropertyValues } from './property-values.ts'
import type {
  ActorPageValues,
  CreatedValues,
  DashboardValues,
  FactoryValues,
  FailedValues,
  Html,
  SignOutValues,
} from './values.ts'

export interface Pages {
  readonly factory: (values: FactoryValues) => Html
  readonly created: (values: CreatedValues) => Html
  readonly failed: (values: FailedValues) => Html
  readonly signOut: (values: SignOutValues) => Html
  readonly dashboard: (values: DashboardValues) => Html
  readonly init: (values: ActorPageValues) => Html
  readonly properties: (values: PropertiesValues) => Html
  readonly property: (values: PropertyValues) => Html
}

export const builtInPages: Pages = {
  factory: factoryPage,
  created: createdPage,
  failed: failedPage,
  signOut: signOutPage,
  dashboard: dashboardPage,
  init: initPage,
  properties: propertiesPage,
  property: propertyPage,
}

/** The name of the template that stands for a page, in a folder of the application's own. */
export const templateNames: Readonly<Record<keyof Pages, string>> = {
  factory: 'aw-root-factory.html',
  created: 'aw-root-created.html',
  failed: 'aw-root-failed.html',
  signOut: 'aw-root-logout.html',
  dashboard: 'aw-actor-www-root.html',
  init: 'aw-actor-www-init.html',
  properties: 'aw-actor-www-properties.html',
  property: 'aw-actor-www-property.html',
}
