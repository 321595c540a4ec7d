import "uplot/dist/uPlot.min.css";
import "./style.css";
import { startMore } from "./more";
import { startRunPage } from "./run-page";
import { startSweepPage } from "./sweep-page";
import { startMembers, startSuitePage, startTables } from "./tables";

startTables();
startMembers();
if (document.body.dataset["page"] === "suite") {
  startSuitePage();
} else if (document.body.dataset["page"] === "sweep") {
  startSweepPage();
} else {
  performance.mark("report:start");
  startRunPage();
  performance.mark("report:ready");
}
startMore();
