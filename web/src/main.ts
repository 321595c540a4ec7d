import "uplot/dist/uPlot.min.css";
import "./style.css";
import { startRunPage } from "./run-page";
import { startSuitePage, startTables } from "./tables";

startTables();
if (document.body.dataset["page"] === "suite") {
  startSuitePage();
} else {
  performance.mark("report:start");
  startRunPage();
  performance.mark("report:ready");
}
