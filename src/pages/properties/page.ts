/** Values and lists. */
import type { PageGroup } from '../shared/page-group.ts'
import { propertyPageRoutes } from './routes.ts'
import { propertiesPage } from './list-view.ts'
import { propertyPage } from './property-view.ts'

export const properties = {
  section: { path: '/properties', label: 'properties', icon: 'properties' },
  pages: [
    { name: 'properties', template: 'aw-actor-www-properties.html', view: propertiesPage },
    { name: 'property', template: 'aw-actor-www-property.html', view: propertyPage },
  ],
  routes: propertyPageRoutes,
} as const satisfies PageGroup
